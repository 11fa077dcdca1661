"""Vision-language-action models as policies; imported on use."""
