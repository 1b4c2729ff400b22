"""`autoweb verify`: judge a saved run again, offline, from the evidence it kept."""
