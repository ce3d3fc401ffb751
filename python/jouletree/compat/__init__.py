"""Stand-ins for the trackers that programs already use: change the import and nothing else.

``jouletree.compat.codecarbon``, ``carbontracker``, ``impact_tracker`` and ``eco2ai`` have the names and the arguments
of CodeCarbon, CarbonTracker, experiment-impact-tracker and Eco2AI. Energy comes from the recorder, as that of windows
does; carbon, configuration and files come from the ``jouletree`` command. Nothing here raises into the user's program
or uses the network. See docs/compat.md.
"""
