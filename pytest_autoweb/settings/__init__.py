"""What a run is told: flags, ini keys and variables, and the settings they become.

What a case file says is in `cases`, what is known of a model in `models`.
"""
