"""From reports to the files that gradebooks take, one small file for each format."""
