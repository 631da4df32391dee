"""Named strategies; each turns its configuration into a run of the pipeline."""
