"""A config file of a founding document of the project."""

# Its first example, as it stands there.
DOCUMENT = """{
  "trainer": {
    "buffer_size": 2048,
    "buffer_type": "standard",  // "standard" or "vla"
    "iterations": 500
  },
  "algorithm": {
    "name": "ppo",
    "cfg": {
      "learning_rate": 3e-4,
      "gamma": 0.99,
      "n_epochs": 10,
      "batch_size": 64
    }
  }
}
"""

VLA_CONFIG = {
    "model_path": "checkpoints/pretrained_vla_model.pth",
    "model_class": "vla_models.GPTVLAModel",
    "model_config": {
        "vision_encoder": "resnet50",
        "language_model": "gpt2-medium",
        "freeze_vision_encoder": False,
    },
}
"""What another example of it says of a model of one's own."""
