"""`winnow serve --http`: OpenAI's chat API for other programs.

`guard` decides who may ask, `app` routes, `requests` reads what is asked, `replies` words the answer, `serving`
listens.
"""
