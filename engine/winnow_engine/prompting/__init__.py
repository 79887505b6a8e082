"""From the question and the spans kept for it to the messages a target reads, and from its answer to citations."""
