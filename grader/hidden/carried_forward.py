from grader.judge.conventions import *  # temporary, for diagnose
