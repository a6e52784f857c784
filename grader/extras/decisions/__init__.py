"""What people decide about submissions: the file of decisions, its history, the review page, and appeals."""
