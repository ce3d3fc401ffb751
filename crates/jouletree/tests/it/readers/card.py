"""Reads a model card as Hugging Face does and prints its emissions, as JSON: card.py CARD.md"""

import json
import sys

from huggingface_hub import ModelCard

card = ModelCard.load(sys.argv[1])
print(json.dumps({"emissions": card.data.to_dict()["co2_eq_emissions"], "text": card.text}))
