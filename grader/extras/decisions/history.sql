-- Every change of a decision, as commands found it in decisions.toml.
CREATE TABLE IF NOT EXISTS decisions (
  id INTEGER PRIMARY KEY,
  noted_at TEXT NOT NULL,
  change TEXT NOT NULL CHECK (change IN ('made', 'removed')),
  student TEXT NOT NULL,  -- as it stands in the file
  what TEXT NOT NULL,  -- the id of a property, score, bonus, or the name of another field
  who TEXT NOT NULL,
  decided_at TEXT NOT NULL,
  why TEXT NOT NULL,
  decision TEXT NOT NULL,  -- JSON, without the ground
  before TEXT,  -- JSON: the decision that held in its place until then
  ground TEXT  -- JSON: what it was based on
)
