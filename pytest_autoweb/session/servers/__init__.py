"""The web servers of case files: started once for all workers, lent to cells, and ended.

What a case file says about its server is read in `cases`.
"""
