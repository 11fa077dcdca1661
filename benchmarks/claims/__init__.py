"""Claims, by the command that measures them: `KIND/NAME.yaml` and its code."""
