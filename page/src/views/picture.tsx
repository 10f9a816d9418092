import { useEffect, useRef, useState } from "preact/hooks";
import type { Ego } from "../contract";
import { model, selected } from "../desk";
import type { Canvas, Dot, Ink, Tie } from "../drawing/canvas";
import { keyOf, showId } from "../logic/ids";
import { nouns, probability } from "../logic/numbers";
import { cividis } from "../logic/scale";
import { ego, map, picture, place } from "../pictures";
import type { Picture as Kind } from "../pictures";
import { show } from "../ranking";
import { Sign } from "./marking";
import { Choice } from "./choice";
import { Failed } from "./states";
import { isDark } from "./theme";

const TITLES: Record<Kind, string> = { around: "Around it", top: "Top 15", map: "Map" };

/** The graph around a node, the top nodes together, or all of them on a map. */
export function Picture() {
  const kind = picture.value;
  const { value, state, error } = (kind === "map" ? map : ego).answer.value;
  const can = model.value?.can.includes(kind === "map" ? "map" : "ego") ?? true;
  const scene = useScene();
  return (
    <section class="panel picture-panel" data-view="picture" aria-label="Picture">
      <header class="picture-head">
        <Choice
          label="What the picture shows"
          name="picture"
          value={kind}
          options={TITLES}
          onChoose={(next) => (picture.value = next)}
        />
      </header>
      {!can ? (
        <div class="drawing empty">
          <p class="faint">This model cannot draw it: it knows no graph or has another head.</p>
        </div>
      ) : state === "failed" ? (
        <div class="drawing">
          <Failed error={error} again={(kind === "map" ? map : ego).again} />
        </div>
      ) : (
        <Drawing scene={scene} isWaiting={value === null && state === "asking"} />
      )}
      <Legend />
      <List dots={scene.dots} />
    </section>
  );
}

interface Scene {
  kind: string;
  says: string;
  dots: Dot[];
  ties: Tie[];
}

function useScene(): Scene {
  if (picture.value === "map") {
    const points = map.answer.value.value ?? [];
    const where = place.value;
    const dots = points.map((point): Dot => ({
      key: keyOf(point.node),
      id: point.node,
      text: showId(point.node),
      role: point.role,
      probability: point.probability,
      size: point.role === "candidate" ? 7 : 12,
      at: point[where],
      isNamed: false,
    }));
    return {
      kind: "map",
      says: `Map of ${nouns(points.length, "node")}, ${where} the examples were taken into account. The list below names them.`,
      dots,
      ties: [],
    };
  }
  const found = ego.answer.value.value;
  const named = toName(found);
  const dots = (found?.nodes ?? []).map((node): Dot => ({
    key: keyOf(node.id),
    id: node.id,
    text: showId(node.id),
    role: node.role,
    probability: node.probability ?? null,
    size: node.role === "asked" ? 20 : 9 + Math.min(6, Math.log1p(node.degree)),
    at: null,
    isNamed: named.has(keyOf(node.id)),
  }));
  const ties = (found?.edges ?? []).map((edge) => ({
    source: keyOf(edge.source),
    target: keyOf(edge.target),
    weight: edge.weight,
  }));
  const asked = dots.filter((dot) => dot.role === "asked").map((dot) => dot.text);
  return {
    kind: `ego of ${asked.join()}`,
    says: `${nouns(dots.length, "node")} and ${nouns(ties.length, "edge")} around ${asked.slice(0, 3).join(", ")}${asked.length > 3 ? " and others" : ""}${found?.cut ? ", the closest of many" : ""}. The list below names them.`,
    dots,
    ties,
  };
}

const MOST_NAMES = 18;

/** Names of all would cover each other: those asked about, examples, then the likeliest; the rest on pointing. */
function toName(found: Ego | null): Set<string> {
  const weight = { asked: 4, positive: 3, negative: 2, neighbour: 0 };
  const order = [...(found?.nodes ?? [])].sort(
    (a, b) => weight[b.role] + (b.probability ?? 0) - weight[a.role] - (a.probability ?? 0),
  );
  return new Set(order.slice(0, MOST_NAMES).map((node) => keyOf(node.id)));
}

const calm = matchMedia("(prefers-reduced-motion: reduce)");

function Drawing({ scene, isWaiting }: { scene: Scene; isWaiting: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<Canvas | null>(null);
  const [isReady, setReady] = useState(false);
  const [hovered, setHovered] = useState<{ dot: Dot; x: number; y: number } | null>(null);

  useEffect(() => {
    let isGone = false;
    const watch = new ResizeObserver(() => canvas.current?.resize());
    void import("../drawing/canvas").then(({ Canvas }) => {
      if (isGone) return;
      canvas.current = new Canvas(box.current!, {
        pick: show,
        hover: (dot, x, y) => setHovered(dot === null ? null : { dot, x, y }),
      });
      watch.observe(box.current!);
      setReady(true);
    });
    return () => {
      isGone = true;
      watch.disconnect();
      canvas.current?.destroy();
      canvas.current = null;
    };
  }, []);

  const dark = isDark.value;
  useEffect(() => canvas.current?.ink(inkOf(box.current!)), [isReady, dark]);
  useEffect(() => {
    setHovered(null);
    canvas.current?.draw(scene.kind, scene.dots, scene.ties, !calm.matches);
  }, [isReady, scene.kind, ego.answer.value.value, map.answer.value.value, place.value]);

  return (
    <div class="drawing">
      <div class="drawing-canvas" ref={box} role="img" aria-label={scene.says} />
      {picture.value === "map" && (
        <div class="place">
          <Choice
            label="Places on the map"
            name="place"
            value={place.value}
            options={{ before: "In the graph", after: "For this label" }}
            onChoose={(next) => (place.value = next)}
          />
        </div>
      )}
      {(isWaiting || !isReady) && <p class="drawing-wait faint late">Drawing…</p>}
      {hovered && (
        <div class="tip" style={{ left: `${hovered.x}px`, top: `${hovered.y}px` }}>
          {hovered.dot.text}
          {hovered.dot.probability !== null && <span class="faint"> {probability(hovered.dot.probability)}</span>}
        </div>
      )}
      <div class="zoom">
        <button type="button" class="icon" aria-label="Zoom in" onClick={() => canvas.current?.zoomBy(1.4)}>
          +
        </button>
        <button type="button" class="icon" aria-label="Zoom out" onClick={() => canvas.current?.zoomBy(1 / 1.4)}>
          −
        </button>
        <button type="button" class="icon" aria-label="Show all" onClick={() => canvas.current?.fit()}>
          ⤢
        </button>
      </div>
    </div>
  );
}

/** The page's colours, for a canvas that cannot read style sheets. */
function inkOf(element: HTMLElement): Ink {
  const probe = document.createElement("span");
  element.append(probe);
  const read = (name: string): string => {
    probe.className = `ink-${name}`;
    return getComputedStyle(probe).color;
  };
  const ink = {
    text: read("text"),
    paper: read("paper"),
    line: read("line"),
    edge: read("edge"),
    accent: read("accent"),
    faint: read("faint"),
  };
  probe.remove();
  return ink;
}

const SHARES = Array.from({ length: 12 }, (_, i) => i / 11);

function Legend() {
  return (
    <div class="legend small">
      <span>
        <Sign of="positive" /> <span aria-hidden="true">holds it</span>
      </span>
      <span>
        <Sign of="negative" /> <span aria-hidden="true">does not</span>
      </span>
      <span class="scale">
        probability 0{" "}
        <span class="scale-colours" aria-hidden="true">
          {SHARES.map((share) => (
            <span key={share} style={{ background: cividis(share) }} />
          ))}
        </span>{" "}
        1
      </span>
    </div>
  );
}

/** The same for those who cannot see the picture or point at it. */
function List({ dots }: { dots: Dot[] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="as-list" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>As a list</summary>
      {isOpen && (
        <ul class="inline">
          {dots.map((dot) => (
            <li key={dot.key}>
              <Sign of={dot.role === "positive" || dot.role === "negative" ? dot.role : null} />
              <button
                type="button"
                class="link name"
                aria-current={selected.value !== null && keyOf(selected.value) === dot.key}
                onClick={() => show(dot.id)}
              >
                {dot.text}
              </button>
              {dot.probability !== null && <span class="faint small"> {probability(dot.probability)}</span>}
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}
