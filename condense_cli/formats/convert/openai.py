"""Turns as OpenAI's APIs take them: messages of chat completions, or items of the Responses API."""

from __future__ import annotations

from typing import Any

from ...core.values import Role
from .converted_turns import Call, ConvertedTurn, Json, Losses, shortest, text_part


def chat(turns: list[ConvertedTurn], losses: Losses) -> Json:
    messages: list[Json] = []
    for turn in turns:
        seen: list[Json] = []
        for result in turn.results:
            texts, images = _parts(result.parts, losses)
            seen += images
            if result.is_error:
                losses.left_out["error flags of results"] += 1
            told = "\n".join(part["text"] for part in texts)
            messages.append({"role": "tool", "tool_call_id": result.id, "content": told})
        texts, images = _said(turn, losses)
        if seen:
            losses.changed["images in results, which become user content"] += len(seen)
        content = [*seen, *texts, *images]
        if turn.role is Role.ASSISTANT and (content or turn.calls):
            message: Json = {"role": "assistant", "content": shortest(content) if content else None}
            messages.append(message | ({"tool_calls": [_chat_call(call) for call in turn.calls]} if turn.calls else {}))
        elif content:
            messages.append({"role": turn.role.value, "content": shortest(content)})
    return {"messages": messages}


def items(turns: list[ConvertedTurn], losses: Losses) -> Json:
    """Messages, calls and results side by side. A result may hold images."""
    written: list[Json] = []
    for turn in turns:
        for result in turn.results:
            texts, images = _parts(result.parts, losses)
            if result.is_error:
                losses.left_out["error flags of results"] += 1
            output = _item_content(texts, images, "input_text") or ""
            written.append({"type": "function_call_output", "call_id": result.id, "output": output})
        texts, images = _said(turn, losses)
        content = _item_content(texts, images, "output_text" if turn.role is Role.ASSISTANT else "input_text")
        if content:
            written.append({"type": "message", "role": turn.role.value, "content": content})
        for call in turn.calls:
            named = {"type": "function_call", "call_id": call.id, "name": call.name}
            written.append({**named, "arguments": call.arguments})
    return {"input": written}


def _item_content(texts: list[Json], images: list[Json], kind: str) -> Any:
    """One text alone, or parts as items have them."""
    if len(texts) == 1 and not images:
        return texts[0]["text"]
    pictures = ({"type": "input_image", "image_url": part["image_url"]["url"], "detail": "auto"} for part in images)
    return [*({"type": kind, "text": part["text"]} for part in texts), *pictures]


def _said(turn: ConvertedTurn, losses: Losses) -> tuple[list[Json], list[Json]]:
    """What a turn says and shows; only the user can show anything."""
    texts, images = _parts(turn.parts, losses)
    if turn.role is not Role.USER and images:
        losses.left_out["images"] += len(images)
        return texts, []
    return texts, images


def _parts(parts: list[Json], losses: Losses) -> tuple[list[Json], list[Json]]:
    """Texts and images as chat completions take them."""
    texts: list[Json] = []
    images: list[Json] = []
    for part in parts:
        source = part.get("source")
        if part["type"] == "text":
            texts.append(text_part(part["text"]))
        elif isinstance(source, dict) and source.get("type") in ("base64", "url"):
            url = source.get("url") or f"data:{source.get('media_type')};base64,{source.get('data')}"
            images.append({"type": "image_url", "image_url": {"url": url}})
        else:
            losses.left_out["images"] += 1
    return texts, images


def _chat_call(call: Call) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
