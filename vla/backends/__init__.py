"""Where models come from, a file for each kind; imported on use."""
