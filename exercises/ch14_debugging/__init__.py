"""Chapter 14, debugging, from symptom to cause."""
