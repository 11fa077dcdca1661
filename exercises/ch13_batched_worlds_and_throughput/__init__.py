"""Chapter 13, batched worlds and throughput."""
