"""Uses the service with the official Python client. Reads {baseUrl, key, agents: {rules, scripted}}
from stdin, and prints what each case received. `agents.scripted` replies to scripts."""

import asyncio
import base64
import json
import sys
import uuid

import httpx2 as httpx
import openai

order = json.load(sys.stdin)
RULES, SCRIPTED = order["agents"]["rules"], order["agents"]["scripted"]


def client(**options):
    options = {"api_key": order["key"], **options}
    return openai.OpenAI(base_url=f"{order['baseUrl']}/v1", **options)


def ask(script, **more):
    text = script if isinstance(script, str) else json.dumps(script)
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": text},
    ]
    return {"model": SCRIPTED, "messages": messages, **more}


def failure(action, **arguments):
    try:
        action(**arguments)
    except openai.APIError as error:
        status = getattr(error, "status_code", None)
        return {"name": type(error).__name__, "status": status, "code": error.code}
    return {"name": "none"}


def counting(lose_first=False):
    """A client that counts its requests, and can lose the first response."""
    requests = []

    class Transport(httpx.HTTPTransport):
        def handle_request(self, request):
            requests.append(request.headers.get("x-stainless-retry-count"))
            response = super().handle_request(request)
            if lose_first and len(requests) == 1:
                response.read()
                raise httpx.ReadError("the response is lost")
            return response

    return client(http_client=httpx.Client(transport=Transport())), requests


def create():
    completion = client().chat.completions.create(
        model=RULES, messages=[{"role": "user", "content": "hello"}]
    )
    return completion.model_dump(exclude_none=True)


def collect(stream):
    received = {"text": "", "ends": [], "usage": None, "error": None}
    try:
        for chunk in stream:
            if chunk.usage:
                received["usage"] = chunk.usage.model_dump(exclude_none=True)
            for choice in chunk.choices:
                received["text"] += choice.delta.content or ""
                received["ends"] += [choice.finish_reason] if choice.finish_reason else []
    except openai.APIError as error:
        received["error"] = {"name": type(error).__name__, "code": error.code}
    return received


def stream():
    script = {"words": 3, "pauseMs": 20, "usage": {"inputTokens": 7, "outputTokens": 3}}
    options = {"stream": True, "stream_options": {"include_usage": True}}
    return collect(client().chat.completions.create(**ask(script, **options)))


def stream_async():
    async def text():
        service = openai.AsyncOpenAI(base_url=f"{order['baseUrl']}/v1", api_key=order["key"])
        parts = await service.chat.completions.create(**ask("one two three", stream=True))
        return "".join([c.delta.content or "" async for part in parts for c in part.choices])

    return asyncio.run(text())


def fails_in_the_middle():
    script = {"words": 6, "pauseMs": 20, "failAfter": 3, "fail": "invalid_reply"}
    return collect(client().chat.completions.create(**ask(script, stream=True)))


def photo():
    content = base64.b64encode(bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes(17)).decode()
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{content}"}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "See"}, image]}]
    key = f"photo-{uuid.uuid4()}"
    texts = []
    for more in [{}, {"metadata": {"conversation_key": key}}]:
        completion = client().chat.completions.create(model=SCRIPTED, messages=messages, **more)
        texts.append(completion.choices[0].message.content)
    return {"texts": texts, "types": [file["mediaType"] for file in stored(key, "messages")[0]["files"]]}


def models():
    listed = [model.id for model in client().models.list()]
    by_id = client().models.retrieve(RULES)
    by_name = client().models.retrieve(by_id.name)
    return {"listed": listed, "byId": by_id.id, "byName": by_name.id, "object": by_id.object}


def errors():
    completions = client().chat.completions
    unknown = client(api_key="sk-unknown").chat.completions
    return {
        "unknownModel": failure(completions.create, **ask("hello", model="nobody")),
        "severalReplies": failure(completions.create, **ask("hello", n=2)),
        "credential": failure(unknown.create, **ask("hello")),
    }


def retries():
    service, requests = counting()
    error = failure(service.chat.completions.create, **ask({"fail": "unavailable"}))
    refusing, refused = counting()
    failure(refusing.chat.completions.create, **ask({"fail": "refused"}))
    return {"error": error, "requests": requests, "refused": len(refused)}


def lost_response_is_not_sent_twice():
    service, requests = counting(lose_first=True)
    key = f"lost-{uuid.uuid4()}"
    request = ask("one two three", metadata={"conversation_key": key})
    service.chat.completions.create(**request)
    return {"requests": requests, "messages": len(stored(key, "messages"))}


def stored(key, kind):
    """The messages or turns of the conversation with a key."""
    headers = {"X-API-Key": order["key"]}
    found = httpx.get(
        f"{order['baseUrl']}/api/conversations",
        params={"agentId": SCRIPTED, "key": key},
        headers=headers,
    ).json()
    path = f"/api/conversations/{found['data'][0]['id']}/{kind}"
    return httpx.get(order["baseUrl"] + path, headers=headers).json()["data"]


def turns(key):
    def results(turn):
        return [json.loads(call["result"]) for call in turn["toolCalls"]]

    return [{"status": turn["status"], "results": results(turn)} for turn in stored(key, "turns")]


def runs_tools():
    """As the documentation of the client has it: the tools are called, and their results sent. The
    conversation is stored."""
    tool = {
        "type": "function",
        "function": {"name": "open_cart", "description": "Opens the cart.", "parameters": {"type": "object"}},
    }
    received = []
    for streams in [False, True]:
        key = f"tools-{uuid.uuid4()}"
        request = ask({"calls": [["open_cart"]], "deltas": ["It is ", "open."]}, tools=[tool], metadata={"conversation_key": key})
        messages = list(request.pop("messages"))
        ends = []
        while not ends or ends[-1] == "tool_calls":
            message, end = complete(messages, request, streams)
            ends.append(end)
            messages.append(message)
            for call in message.tool_calls or []:
                opened = {"called": call.function.name, "given": json.loads(call.function.arguments)}
                messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(opened)})
        received.append({"ends": ends, "text": message.content, "turns": turns(key)})
    return received


def complete(messages, request, streams):
    completions = client().chat.completions
    if not streams:
        choice = completions.create(messages=messages, **request).choices[0]
        return choice.message, choice.finish_reason
    with completions.stream(messages=messages, **request) as events:
        choice = events.get_final_completion().choices[0]
        return choice.message, choice.finish_reason


cases = {
    "create": create,
    "stream": stream,
    "streamAsync": stream_async,
    "failsInTheMiddle": fails_in_the_middle,
    "photo": photo,
    "models": models,
    "errors": errors,
    "retries": retries,
    "lostResponse": lost_response_is_not_sent_twice,
    "tools": runs_tools,
}
print(json.dumps({name: run() for name, run in cases.items()}))
