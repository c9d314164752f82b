"""Who answers: agents, the handoffs between them, and the two ways of letting them speak."""
