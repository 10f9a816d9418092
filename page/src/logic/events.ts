// Server-sent events out of a fetch: EventSource can neither POST nor carry a token.

export interface ServerEvent {
  name: string;
  data: string;
}

/** Cuts a stream of text into events, wherever the pieces happen to end. */
export class EventReader {
  private rest = "";

  read(piece: string): ServerEvent[] {
    const text = this.rest + piece;
    const end = text.endsWith("\r") ? text.length - 1 : text.length; // its "\n" may be yet to come
    const blocks = text.slice(0, end).replace(/\r\n?/g, "\n").split("\n\n");
    this.rest = (blocks.pop() ?? "") + text.slice(end);
    return blocks.map(toEvent).filter((event) => event !== null);
  }
}

function toEvent(block: string): ServerEvent | null {
  let name = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length > 0 ? { name, data: data.join("\n") } : null;
}
