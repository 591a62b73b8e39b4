"""What `anharmonic demo` shows: wines, questions, a stream that drifts."""
