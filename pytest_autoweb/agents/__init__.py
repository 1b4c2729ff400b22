"""Outside agents: programs of other people that drive a cell's browser with a model.

Their processes, the browser that each is given, and the endpoint through which they ask the model.
Which agents there are is in `strategies`; judging and evidence are those of every attempt.
"""
