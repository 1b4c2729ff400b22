"""The re-judging of saved runs for `autoweb verify`: offline, from the evidence they kept."""
