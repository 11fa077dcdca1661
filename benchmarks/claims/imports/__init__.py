"""How long importing takes."""
