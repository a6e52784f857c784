"""Classes of characters, for regular expressions on Chinese text: HTML shows a line break in it as a space."""

CHARACTER = r"[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]"
PUNCTUATION = r"[\u3001-\u3011\uff01-\uff5e\u201c\u201d]"  # which has its own space
