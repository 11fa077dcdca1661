"""Tasks of robots that other packages bring: how fast they are, what learns in them."""
