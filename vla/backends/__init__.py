"""Sources of models, a file for each kind; imported on use."""
