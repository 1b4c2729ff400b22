"""What model services say when they refuse or fail, each in its own form, through the gateway.

The bodies are those of OpenAI, Anthropic, Google, Mistral, DashScope (Qwen), Zhipu, DeepSeek,
Moonshot, Ollama, vLLM and llama.cpp, as they are known to be worded: written from memory; no
provider was asked. A local server sends them. What counts is the text that the gateway hands on.
"""

import json
import tempfile
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from provoked import Provoked

from pytest_autoweb.errors import ModelError
from pytest_autoweb.llm.client import Message, Request
from pytest_autoweb.llm.gateway import GatewayClient, start_gateway, stop_gateway
from pytest_autoweb.llm.model_spec import ModelSpec

PARAMETER, PERMISSION = "PARAMETER_ERROR", "PERMISSION_ERROR"
SERVICE, DATA, BUSINESS = "SERVICE_UNAVAILABLE", "DATA_NOT_FOUND", "BUSINESS_ERROR"


Said = tuple[int, dict[str, Any], str]
"""Status, body and label of an answer."""


def _openai(message: str, kind: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _anthropic(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _google(code: int, message: str, status: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status}}


def _coded(code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


SAID: tuple[Said, ...] = (
    (401, _openai("Incorrect API key provided: sk-abc***. You can find your API key at "
     "https://platform.openai.com/account/api-keys.", "invalid_request_error", "invalid_api_key"),
     PERMISSION),
    (401, _openai("You must be a member of an organization to use the API.",
     "invalid_request_error"), PERMISSION),
    (403, _openai("Country, region, or territory not supported", "request_forbidden",
     "unsupported_country_region_territory"), PERMISSION),
    (404, _openai("The model `gpt-9-mini` does not exist or you do not have access to it.",
     "invalid_request_error", "model_not_found"), DATA),
    (404, _openai("This is not a chat model and thus not supported in the v1/chat/completions "
     "endpoint. Did you mean to use v1/completions?", "invalid_request_error"), PARAMETER),
    (429, _openai("Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): "
     "Limit 30000, Used 29500, Requested 1200. Please try again in 1.4s.", "tokens",
     "rate_limit_exceeded"), SERVICE),
    (500, _openai("The server had an error while processing your request. Sorry about that!",
     "server_error"), SERVICE),
    (503, _openai("That model is currently overloaded with other requests. You can retry your "
     "request.", "server_error"), SERVICE),
    (400, _openai("This model's maximum context length is 16385 tokens. However, your messages "
     "resulted in 20011 tokens. Please reduce the length of the messages.",
     "invalid_request_error", "context_length_exceeded"), PARAMETER),
    (400, _openai("Unsupported parameter: 'max_tokens' is not supported with this model. Use "
     "'max_completion_tokens' instead.", "invalid_request_error", "unsupported_parameter"),
     PARAMETER),
    (400, _openai("Unsupported value: 'temperature' does not support 0 with this model. Only the "
     "default (1) value is supported.", "invalid_request_error", "unsupported_value"), PARAMETER),
    (400, _openai("Invalid type for 'max_tokens': expected an integer, but got a string instead.",
     "invalid_request_error", "invalid_type"), PARAMETER),
    (400, _openai("Invalid schema for response_format 'plan': 'additionalProperties' is required "
     "to be supplied and to be false.", "invalid_request_error"), PARAMETER),
    (400, _openai("Your request was rejected as a result of our safety system.",
     "invalid_request_error", "content_policy_violation"), BUSINESS),
    (400, _openai("The response was filtered due to the prompt triggering Azure OpenAI's content "
     "management policy.", "invalid_request_error", "content_filter"), BUSINESS),
    (400, _openai("Billing hard limit has been reached", "invalid_request_error",
     "billing_hard_limit_reached"), BUSINESS),
    (401, _anthropic("authentication_error", "invalid x-api-key"), PERMISSION),
    (403, _anthropic("permission_error", "Your API key does not have permission to use the "
     "specified resource."), PERMISSION),
    (404, _anthropic("not_found_error", "model: claude-9"), DATA),
    (413, _anthropic("request_too_large", "Request exceeds the maximum allowed number of bytes."),
     PARAMETER),
    (429, _anthropic("rate_limit_error", "This request would exceed your organization's rate "
     "limit of 50 requests per minute."), SERVICE),
    (500, _anthropic("api_error", "Internal server error"), SERVICE),
    (529, _anthropic("overloaded_error", "Overloaded"), SERVICE),
    (400, _anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 "
     "maximum"), PARAMETER),
    (400, _anthropic("invalid_request_error", "messages: roles must alternate between \"user\" "
     "and \"assistant\", but found multiple \"user\" roles in a row"), PARAMETER),
    (400, _anthropic("invalid_request_error", "Your credit balance is too low to access the API. "
     "Please go to Plans & Billing to upgrade or purchase credits."), BUSINESS),
    (400, _google(400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT"),
     PERMISSION),
    (403, _google(403, "Permission denied on resource project demo.", "PERMISSION_DENIED"),
     PERMISSION),
    (404, _google(404, "models/gemini-9 is not found for API version v1beta, or is not supported "
     "for generateContent.", "NOT_FOUND"), DATA),
    (429, _google(429, "Resource has been exhausted (e.g. check quota).", "RESOURCE_EXHAUSTED"),
     SERVICE),
    (503, _google(503, "The model is overloaded. Please try again later.", "UNAVAILABLE"), SERVICE),
    (500, _google(500, "An internal error has occurred. Please retry or report in "
     "https://developers.generativeai.google/guide/troubleshooting", "INTERNAL"), SERVICE),
    (504, _google(504, "Deadline expired before operation could complete.", "DEADLINE_EXCEEDED"),
     SERVICE),
    (400, _google(400, "User location is not supported for the API use.", "FAILED_PRECONDITION"),
     PERMISSION),
    (401, {"message": "Unauthorized", "request_id": "r"}, PERMISSION),
    (422, {"detail": [{"loc": ["body", "messages"], "msg": "field required"}]},
     "VALIDATION_ERROR"),
    (400, {"object": "error", "message": "Invalid model: mistral-9", "code": "1500"}, DATA),
    (400, _coded("InvalidParameter", "Range of max_tokens should be [1, 8192]"), PARAMETER),
    (400, _coded("DataInspectionFailed", "Input data may contain inappropriate content."),
     BUSINESS),
    (401, _coded("InvalidApiKey", "Invalid API-key provided."), PERMISSION),
    (403, _coded("AccessDenied", "Current user api does not support asynchronous calls."),
     PERMISSION),
    (400, _coded("Arrearage", "Access denied, please make sure your account is in good standing."),
     BUSINESS),
    (429, _coded("Throttling.RateQuota", "Requests rate limit exceeded, please try again later."),
     SERVICE),
    (401, _coded("1000", "身份验证失败"), PERMISSION),
    (401, _coded("1002", "Authorization Token非法，请确认Authorization Token正确传递。"),
     PERMISSION),
    (400, _coded("1210", "API 调用参数有误，请检查文档。"), PARAMETER),
    (400, _coded("1211", "模型不存在，请检查模型代码。"), DATA),
    (400, _coded("1214", "messages 参数非法。请检查文档。"), PARAMETER),
    (400, _coded("1301", "系统检测到输入或生成内容可能包含不安全或敏感内容，"
     "请您避免输入易产生敏感内容的提示语，感谢您的配合。"), BUSINESS),
    (400, _coded("1113", "您的账户已欠费，请充值后重试。"), BUSINESS),
    (429, _coded("1302", "您当前使用该API的并发数过高，请降低并发，或联系客服增加限额。"), SERVICE),
    (429, _coded("1305", "当前API请求过多，请稍后重试。"), SERVICE),
    (500, _coded("500", "内部错误"), SERVICE),
    (402, _openai("Insufficient Balance", "unknown_error", "invalid_request_error"), BUSINESS),
    (401, _openai("Authentication Fails, Your api key: ****abcd is invalid",
     "authentication_error"), PERMISSION),
    (400, _openai("Model Not Exist", "invalid_request_error"), DATA),
    (503, _openai("Service is too busy. We advise users to temporarily switch to alternative LLM "
     "API service providers.", "service_unavailable_error"), SERVICE),
    (400, _openai("Invalid request: Your request exceeded model token limit: 8192",
     "invalid_request_error"), PARAMETER),
    (404, {"error": "model \"qwen9\" not found, try pulling it first"}, DATA),
    (500, {"error": "model requires more system memory (9.1 GiB) than is available (3.2 GiB)"},
     SERVICE),
    (500, {"error": "llama runner process has terminated: signal: killed"}, SERVICE),
    (400, {"error": "invalid options: temprature"}, PARAMETER),
    (400, {"object": "error", "message": "This model's maximum context length is 2048 tokens. "
     "However, you requested 2500 tokens (2000 in the messages, 500 in the completion).",
     "type": "BadRequestError", "code": 400}, PARAMETER),
    (404, {"object": "error", "message": "The model `qwen-7b` does not exist.",
     "type": "NotFoundError", "code": 404}, DATA),
    (400, {"error": {"code": 400, "message": "the request exceeds the available context size. try "
     "increasing the context size or enable context shift", "type": "exceed_context_size_error"}},
     PARAMETER),
    (503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}},
     SERVICE),
    (400, {"error": {"code": 400, "message": "failed to parse grammar",
     "type": "invalid_request_error"}}, PARAMETER),
)  # fmt: skip


class _Service(BaseHTTPRequestHandler):
    said: Sequence[Said] = ()

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, body, _ = self.said[int(asked["model"].removeprefix("m"))]
        data = json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""


def provider_refusals(answers: Sequence[Said] = SAID, tag: str = "six") -> Iterator[Provoked]:
    """Yield one call for each answer, through the real gateway."""
    service = type("Service", (_Service,), {"said": answers})
    server = ThreadingHTTPServer(("127.0.0.1", 0), service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}/v1"
    specs = {
        name: ModelSpec(name=name, api_base=base, timeout=5, api_key_env="PROVOKED_KEY")
        for name in (f"openai/m{number}" for number in range(len(answers)))
    }
    with tempfile.TemporaryDirectory() as folder:
        address = start_gateway(
            specs, record_mode="off", cassettes=Path(folder), run_dir=Path(folder),
            live=list(specs), backoff_s=0.01,
        )  # fmt: skip
        client = GatewayClient(address)
        for name, (status, _, label) in zip(specs, answers, strict=True):
            question = Request(
                model=name, messages=(Message(role="user", content="hello"),), stage="plan"
            )
            try:
                client.complete(question)
            except ModelError as error:
                text = f"plan: {error.cause}: {error.detail}"
                source = f"gateway: {tag} {status}"
                yield Provoked("ModelError", text, None, label, "llm_error", source)
        stop_gateway(address)
    server.shutdown()
