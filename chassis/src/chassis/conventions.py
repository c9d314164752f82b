"""The names that spans, metrics and their attributes carry: our own constants, since the conventions still move.

Sources: OpenTelemetry's semantic conventions for HTTP, messaging and generative AI, as of 1.37, development parts too.
"""

from __future__ import annotations

# The resource
SERVICE_NAME = "service.name"
SERVICE_NAMESPACE = "service.namespace"
SERVICE_VERSION = "service.version"
SERVICE_INSTANCE = "service.instance.id"

# HTTP
HTTP_METHOD = "http.request.method"
HTTP_STATUS = "http.response.status_code"
HTTP_ROUTE = "http.route"
URL_PATH = "url.path"
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"
ERROR_TYPE = "error.type"
HTTP_SERVER_DURATION = "http.server.request.duration"

# Messaging
MESSAGING_SYSTEM = "messaging.system"
MESSAGING_OPERATION_NAME = "messaging.operation.name"
MESSAGING_OPERATION_TYPE = "messaging.operation.type"
MESSAGING_DESTINATION = "messaging.destination.name"
MESSAGING_PARTITION = "messaging.destination.partition.id"
MESSAGING_GROUP = "messaging.consumer.group.name"
MESSAGING_MESSAGE_ID = "messaging.message.id"
MESSAGING_BATCH_COUNT = "messaging.batch.message_count"
MESSAGING_BODY_SIZE = "messaging.message.body.size"
MESSAGING_PROCESS_DURATION = "messaging.process.duration"
SEND = "send"
PROCESS = "process"

# Generative AI
GEN_AI_OPERATION = "gen_ai.operation.name"
GEN_AI_PROVIDER = "gen_ai.provider.name"
GEN_AI_REQUEST_MODEL = "gen_ai.request.model"
GEN_AI_RESPONSE_MODEL = "gen_ai.response.model"
GEN_AI_RESPONSE_ID = "gen_ai.response.id"
GEN_AI_FINISH_REASONS = "gen_ai.response.finish_reasons"
GEN_AI_INPUT_TOKENS = "gen_ai.usage.input_tokens"
GEN_AI_OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
GEN_AI_AGENT_NAME = "gen_ai.agent.name"
GEN_AI_CONVERSATION_ID = "gen_ai.conversation.id"
GEN_AI_TOOL_NAME = "gen_ai.tool.name"
GEN_AI_TOOL_CALL_ID = "gen_ai.tool.call.id"
GEN_AI_DATA_SOURCE_ID = "gen_ai.data_source.id"
GEN_AI_EMBEDDINGS_DIMENSIONS = "gen_ai.embeddings.dimension.count"
GEN_AI_INPUT_MESSAGES = "gen_ai.input.messages"
GEN_AI_OUTPUT_MESSAGES = "gen_ai.output.messages"
GEN_AI_TOKEN_TYPE = "gen_ai.token.type"  # noqa: S105 - a token of text, not of access
GEN_AI_TOKEN_USAGE = "gen_ai.client.token.usage"  # noqa: S105
GEN_AI_OPERATION_DURATION = "gen_ai.client.operation.duration"
INVOKE_AGENT = "invoke_agent"
CHAT = "chat"
EMBEDDINGS = "embeddings"
RETRIEVAL = "retrieval"
EXECUTE_TOOL = "execute_tool"

# Talkdown's own
TURN_ID = "talkdown.turn.id"
TURN_WAITED_MS = "talkdown.turn.waited_ms"
FIRST_TOKEN_S = "talkdown.time_to_first_token"  # noqa: S105 - the name of a moment
REFRESH_ID = "talkdown.refresh.id"
DOCUMENT_PATH = "talkdown.document.path"
DOCUMENT_REVISION = "talkdown.document.revision"

# Talkdown's own attributes of metrics
TURN_STATUS = "talkdown.turn.status"
DOCUMENT_CHANGE = "talkdown.document.change"
REFRESH_STATUS = "talkdown.refresh.status"
VOICE_STAGE = "talkdown.voice.stage"
