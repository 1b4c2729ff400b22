"""WebArena-Infinity: applications that keep their state in the page, and tasks judged by it.

Reading a checkout, proving its checks, writing the case files, and what these cases use: a server
and a check. How checks are evaluated in general is found in `judging`, proofs of cases by their
oracles in `tools/verify`.
"""
