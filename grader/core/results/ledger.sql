-- The ledger of a folder of reports: grader/docs/ledger.md explains it, with examples.

-- The conditions under which results were obtained. key is a digest of details: a result is used again only if the key
-- is that of the present conditions.
CREATE TABLE conditions (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL,
  details TEXT NOT NULL,  -- JSON
  assignment TEXT NOT NULL,
  grader_version TEXT NOT NULL,
  rubric_sha256 TEXT NOT NULL,
  hidden_tests_sha256 TEXT NOT NULL,
  seed INTEGER NOT NULL,
  python TEXT NOT NULL,
  torch TEXT NOT NULL,
  devices TEXT NOT NULL,  -- JSON
  isolation TEXT NOT NULL,
  command TEXT NOT NULL
);
CREATE INDEX conditions_by_key ON conditions (key);

-- Every result of every submission: the newest is current, earlier ones are kept as history.
CREATE TABLE results (
  id INTEGER PRIMARY KEY,
  submission TEXT NOT NULL,
  current INTEGER NOT NULL DEFAULT 1 CHECK (current IN (0, 1)),
  reusable INTEGER NOT NULL CHECK (reusable IN (0, 1)),  -- 0 if the grader failed, or after a run with --fresh
  conditions INTEGER NOT NULL REFERENCES conditions (id),
  sha256 TEXT NOT NULL,  -- of the submission's files
  status TEXT NOT NULL CHECK (status IN ('graded', 'unreadable', 'grader_error')),
  reason TEXT,
  score REAL,
  max_score REAL NOT NULL,
  bonus REAL,
  max_bonus REAL NOT NULL,
  students TEXT NOT NULL,
  late INTEGER,
  origin TEXT,  -- JSON
  notices TEXT NOT NULL,  -- JSON
  started_at TEXT NOT NULL,
  duration_s REAL NOT NULL
);
CREATE INDEX results_by_submission ON results (submission, id);
CREATE UNIQUE INDEX results_current ON results (submission) WHERE current;

CREATE TABLE tasks (
  result INTEGER NOT NULL REFERENCES results (id),
  position INTEGER NOT NULL,
  task TEXT NOT NULL,
  score REAL NOT NULL,
  max_score REAL NOT NULL,
  PRIMARY KEY (result, position)
) WITHOUT ROWID;

CREATE TABLE properties (
  result INTEGER NOT NULL REFERENCES results (id),
  position INTEGER NOT NULL,
  task TEXT NOT NULL,
  property TEXT NOT NULL,
  points REAL NOT NULL,
  max_points REAL NOT NULL,
  outcome TEXT NOT NULL,
  misconception TEXT,
  message TEXT,  -- of the simplest case, if points were lost
  PRIMARY KEY (result, position)
) WITHOUT ROWID;

-- Each current report.json, compressed, with the size and modification time of the file when it was written.
CREATE TABLE copies (
  result INTEGER PRIMARY KEY REFERENCES results (id),
  size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  json_zlib BLOB NOT NULL
);

-- The class: submissions of all runs but those that were left out or superseded, which views leave out as well.
CREATE TABLE class (submission TEXT PRIMARY KEY) WITHOUT ROWID;

-- The grades that were exported for a platform; newest_result is the newest results.id at that time.
CREATE TABLE exports (
  id INTEGER PRIMARY KEY,
  exported_at TEXT NOT NULL,
  format TEXT NOT NULL,
  newest_result INTEGER NOT NULL
);
CREATE TABLE exported (
  export INTEGER NOT NULL REFERENCES exports (id),
  submission TEXT NOT NULL,
  student TEXT NOT NULL,  -- the platform's id; the address if there is no id
  name TEXT NOT NULL,  -- empty if student is an id
  grade REAL,  -- null if the cell was left blank
  PRIMARY KEY (export, submission, student, name)
) WITHOUT ROWID;

CREATE VIEW latest AS
  SELECT results.* FROM class JOIN results USING (submission) WHERE current;

CREATE VIEW scores AS
  SELECT submission, students, status, score, max_score, bonus, max_bonus, late, reason
  FROM latest ORDER BY submission;

CREATE VIEW lost_points AS
  SELECT submission, students, task, property, max_points - points AS lost, outcome, misconception, message
  FROM latest JOIN properties ON result = latest.id
  WHERE status = 'graded' AND points < max_points ORDER BY submission, position;

CREATE VIEW pass_rates AS
  SELECT task, property, max_points, sum(outcome = 'passed') AS passed, count(*) AS graded,
    round(1.0 * sum(outcome = 'passed') / count(*), 3) AS rate
  FROM latest JOIN properties ON result = latest.id
  WHERE status = 'graded' GROUP BY task, property, max_points ORDER BY min(position);

CREATE VIEW outcomes AS
  SELECT task, property, outcome, count(*) AS submissions
  FROM latest JOIN properties ON result = latest.id
  WHERE status = 'graded' GROUP BY task, property, outcome ORDER BY min(position), submissions DESC;

CREATE VIEW misconceptions AS
  SELECT misconception, count(DISTINCT submission) AS count, group_concat(DISTINCT submission) AS submissions,
    sum(max_points - points) AS lost
  FROM latest JOIN properties ON result = latest.id
  WHERE status = 'graded' AND misconception IS NOT NULL GROUP BY misconception ORDER BY count DESC, misconception;

CREATE VIEW not_graded AS
  SELECT class.submission, students, coalesce(status, 'waiting') AS status, reason
  FROM class LEFT JOIN latest USING (submission)
  WHERE coalesce(status, 'waiting') <> 'graded' ORDER BY class.submission;

CREATE VIEW distribution AS
  SELECT min(10 * CAST(10 * score / max_score AS INTEGER), 90) AS from_percent, count(*) AS submissions
  FROM latest WHERE status = 'graded' AND max_score > 0 GROUP BY from_percent ORDER BY from_percent;

CREATE VIEW slowest AS
  SELECT submission, students, duration_s, status, score FROM latest ORDER BY duration_s DESC;

CREATE VIEW same_files AS
  SELECT sha256, count(*) AS count, group_concat(submission) AS submissions
  FROM latest WHERE status = 'graded' GROUP BY sha256 HAVING count > 1 ORDER BY count DESC, sha256;

-- Submissions whose result differs from the one before it: the largest loss of points first.
CREATE VIEW changes AS
  SELECT latest.submission, latest.students, latest.score + latest.bonus - before.score - before.bonus AS difference,
    before.score AS old_score, latest.score, before.bonus AS old_bonus, latest.bonus,
    before.status AS old_status, latest.status, latest.sha256 <> before.sha256 AS new_files
  FROM latest JOIN results AS before ON before.id =
    (SELECT max(id) FROM results WHERE submission = latest.submission AND id < latest.id)
  WHERE difference <> 0 OR latest.status <> before.status OR new_files
  ORDER BY difference IS NOT NULL, difference, latest.submission;

CREATE VIEW graded_how AS
  SELECT count(*) AS submissions, min(started_at) AS first, max(started_at) AS last, grader_version, seed, python, torch,
    devices, isolation, rubric_sha256, hidden_tests_sha256, command
  FROM latest JOIN conditions ON conditions.id = latest.conditions GROUP BY conditions.id ORDER BY submissions DESC;
