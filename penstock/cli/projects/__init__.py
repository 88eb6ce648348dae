"""Projects of users: a new one from the files in ``templates/``, and which pipelines one has."""
