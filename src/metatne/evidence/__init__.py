"""The default head: what is known of a node, weighed by a kernel whose weights are meta-learned."""
