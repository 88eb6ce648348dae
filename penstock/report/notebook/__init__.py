"""How engines, datasets, pipelines, models and evaluations show in notebooks.

Each module has the HTML of one of them: a few kilobytes, no script, no request, in the notebook's own colours.
"""
