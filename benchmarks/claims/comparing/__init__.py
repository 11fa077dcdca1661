"""An algorithm beside its parent."""
