"""The handout as students read it: Markdown in, self-contained HTML pages and a PDF out, in every language."""
