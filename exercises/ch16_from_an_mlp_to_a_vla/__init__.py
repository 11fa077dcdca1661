"""Chapter 16, from an MLP to vision-language-action policies."""
