"""Renders the handout: from Markdown to HTML pages that load no other file, and to a PDF, in every language."""
