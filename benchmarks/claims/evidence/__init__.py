"""Claims that a learning curve does not show, judged seed by seed."""
