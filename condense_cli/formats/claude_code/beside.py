"""What stands beside the path of a Claude Code conversation and is sent too: the branches at the calls of a reply."""

from __future__ import annotations

from collections import defaultdict

from .tree import Node, Tree


class Beside:
    """What stands beside a path, by the replies on it. `behind` are decorations of single nodes of the path."""

    def __init__(self, path: list[Node], tree: Tree) -> None:
        self._path = path
        self._at = {node.uuid: position for position, node in enumerate(path)}
        self._lines: dict[str, list[Node]] = defaultdict(list)
        self._below: dict[str | None, list[Node]] = defaultdict(list)
        for node in tree.values():
            self._below[node.parent].append(node)
            if node.reply_id:
                self._lines[node.reply_id].append(node)
        self._taken = set(self._at)
        self.behind: dict[str, list[Node]] = {}

    def stretches(self) -> list[tuple[int, int, list[Node]]]:
        """Stretches of the path, from the first line of a reply to what still belongs to it, with their branches."""
        found: list[tuple[int, int, list[Node]]] = []
        replies = sorted((self._at[node.uuid], node.reply_id) for node in self._path if node.reply_id)
        for reply in dict.fromkeys(name for _, name in replies):
            start, end, branches = self._of_reply(reply)
            if not branches and not self.behind.keys() & {node.uuid for node in self._path[start:end]}:
                continue
            if found and start < found[-1][1]:
                start, before, others = found.pop()
                end, branches = max(end, before), others + branches
            found.append((start, end, branches))
        return found

    def _of_reply(self, reply: str) -> tuple[int, int, list[Node]]:
        lines = self._lines[reply]
        answers = [node for line in lines for node in self._below[line.uuid] if node.answers]
        branches = [node for node in (*lines, *answers) if node.uuid not in self._taken]
        self._taken.update(node.uuid for node in branches)
        on_path = [self._at[line.uuid] for line in lines if line.uuid in self._at]
        start, end = min(on_path), max(on_path) + 1
        while end < len(self._path) and _belongs_to(self._path[end], reply):
            end += 1
        if any(line.calls for line in lines):
            for node in (*lines, *answers):
                branches += self._decorations(node)
            for node in self._path[start + 1 : end]:
                if node.decorates and (more := self._decorations(node)):
                    self.behind[node.uuid] = more
        return start, end, branches

    def _decorations(self, node: Node) -> list[Node]:
        """What hangs below a node in single file and leads to no message."""
        found: list[Node] = []
        for child in self._below[node.uuid]:
            row = self._row(child, node)
            self._taken.update(each.uuid for each in row)
            found += row
        return found

    def _row(self, child: Node, above: Node) -> list[Node]:
        row: list[Node] = []
        following = [child]
        while following:
            (node,) = following
            if node.uuid in self._taken or not node.decorates or node.is_sidechain is not above.is_sidechain:
                return []
            row.append(node)
            following = [each for each in self._below[node.uuid] if each.uuid not in self._taken]
            if len(following) > 1:
                return []
        return row


def _belongs_to(node: Node, reply: str) -> bool:
    """Whether a node of the path still belongs to a reply before it."""
    return node.decorates or bool(node.answers) or (node.kind == "assistant" and node.reply_id == reply)
