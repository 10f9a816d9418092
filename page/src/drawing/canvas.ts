// Pictures of nodes and edges, drawn by cytoscape; loaded after the first paint.
import cytoscape from "cytoscape";
import type { Core, NodeSingular, StylesheetJson } from "cytoscape";
import type { Id } from "../contract";
import { cividis } from "../logic/scale";

export interface Dot {
  key: string;
  id: Id;
  text: string;
  role: "asked" | "positive" | "negative" | "neighbour" | "candidate";
  probability: number | null;
  size: number;
  /** Where it is, or null where the layout decides. */
  at: [number, number] | null;
  isNamed: boolean;
}

export interface Tie {
  source: string;
  target: string;
  weight: number;
}

export interface Ink {
  text: string;
  paper: string;
  line: string;
  edge: string;
  accent: string;
  faint: string;
}

/** Shapes, not colours, tell the examples apart: ▲ holds it, ■ does not. */
const SHAPES = {
  positive: "triangle",
  negative: "rectangle",
  asked: "ellipse",
  neighbour: "ellipse",
  candidate: "ellipse",
} as const;

const SPREAD = 400;
const MARGIN = 30;

export class Canvas {
  private readonly cy: Core;
  private kind = "";

  constructor(
    container: HTMLElement,
    private readonly on: {
      pick: (id: Id) => void;
      hover: (dot: Dot | null, x: number, y: number) => void;
    },
  ) {
    this.cy = cytoscape({
      container,
      minZoom: 0.2,
      maxZoom: 4,
      boxSelectionEnabled: false,
      autounselectify: true,
    });
    this.cy.on("tap", "node", (event) => this.on.pick(dotOf(event.target as NodeSingular).id));
    this.cy.on("mouseover", "node", (event) => {
      const node = event.target as NodeSingular;
      const { x, y } = node.renderedPosition();
      this.on.hover(dotOf(node), x, y);
    });
    this.cy.on("mouseout pan zoom", () => this.on.hover(null, 0, 0));
    // The wheel scrolls the page; with Ctrl held, or by the buttons, the picture zooms.
    this.cy.userZoomingEnabled(false);
  }

  ink(ink: Ink): void {
    this.cy.style(styles(ink));
  }

  /** Draws; the same kind of picture moves its dots to their new places. */
  draw(kind: string, dots: Dot[], ties: Tie[], moves: boolean): void {
    const { cy } = this;
    const isSameKind = kind === this.kind;
    this.kind = kind;
    const wanted = new Set(dots.map((dot) => dot.key));
    cy.stop();
    cy.batch(() => {
      cy.elements().filter((part) => part.isEdge() || !wanted.has(part.id())).remove();
      for (const dot of dots) {
        const data = { id: dot.key, dot, shape: SHAPES[dot.role], ...looks(dot) };
        const found = cy.getElementById(dot.key);
        if (found.nonempty()) found.data(data);
        else cy.add({ group: "nodes", data, position: placeOf(dot) });
      }
      for (const tie of ties)
        cy.add({ group: "edges", data: { ...tie, width: Math.min(3, 0.6 + Math.log1p(tie.weight) / 2) } });
    });
    if (dots.every((dot) => dot.at !== null)) this.moveTo(dots, moves && isSameKind);
    else this.settle(dots);
  }

  zoomBy(factor: number): void {
    const { cy } = this;
    const level = cy.zoom() * factor;
    cy.zoom({ level, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  }

  /** All of it in view, with dots and names as large on the screen as they are meant to be. */
  fit(): void {
    const { cy } = this;
    cy.fit(undefined, MARGIN);
    const scale = 1 / cy.zoom();
    cy.batch(() => {
      for (const node of cy.nodes().toArray()) {
        const { size, role } = dotOf(node);
        const font = role === "asked" ? 13 : 11;
        node.style({ width: scale * size, height: scale * size, "font-size": scale * font });
      }
    });
  }

  resize(): void {
    this.cy.resize();
    this.fit();
  }

  destroy(): void {
    this.cy.destroy();
  }

  private moveTo(dots: Dot[], moves: boolean): void {
    const places = new Map(dots.map((dot) => [dot.key, placeOf(dot)]));
    const layout = this.cy.layout({
        name: "preset",
        positions: (node: NodeSingular) => places.get(node.id())!,
        animate: moves,
        animationDuration: 700,
        fit: false,
      } as unknown as cytoscape.PresetLayoutOptions);
    layout.one("layoutstop", () => this.fit());
    layout.run();
  }

  /** From a circle around the nodes asked about: the same graph always gives the same picture. */
  private settle(dots: Dot[]): void {
    dots.forEach((dot, i) => {
      const turn = 2.39996 * i; // the golden angle spreads any number of dots evenly
      const far = dot.role === "asked" ? 12 * i : 60 + 14 * Math.sqrt(i) * 4;
      this.cy.getElementById(dot.key).position({ x: far * Math.cos(turn), y: far * Math.sin(turn) });
    });
    this.cy
      .layout({
        name: "cose",
        animate: false,
        randomize: false,
        fit: false,
        nodeRepulsion: () => 40_000,
        idealEdgeLength: () => 60,
        numIter: 500,
      } as cytoscape.CoseLayoutOptions)
      .run();
    this.fit();
  }
}

const dotOf = (node: NodeSingular): Dot => node.data("dot") as Dot;

const placeOf = (dot: Dot): { x: number; y: number } =>
  dot.at === null ? { x: 0, y: 0 } : { x: SPREAD * dot.at[0], y: -SPREAD * dot.at[1] };

/** An example has no probability, but an answer. */
function fillOf({ probability, role }: Dot): string {
  if (role === "positive" || role === "negative") return cividis(role === "positive" ? 1 : 0);
  return probability === null ? "" : cividis(probability);
}

const looks = (dot: Dot) => ({
  text: dot.isNamed ? dot.text : "",
  fill: fillOf(dot),
  ring: dot.role === "asked" ? "yes" : dot.role === "neighbour" || dot.role === "candidate" ? "" : "mark",
});

const styles = (ink: Ink): StylesheetJson =>
  [
    {
      selector: "node",
      style: {
        shape: "data(shape)",
        label: "data(text)",
        "background-color": ink.faint,
        "border-width": 1,
        "border-color": ink.edge,
        color: ink.text,
        "font-family": "system-ui, sans-serif",
        "min-zoomed-font-size": 7,
        "text-valign": "bottom",
        "text-margin-y": 3,
        "text-wrap": "ellipsis",
        "text-max-width": "140px",
        "text-background-color": ink.paper,
        "text-background-opacity": 0.75,
        "text-background-padding": "1px",
        "overlay-opacity": 0,
      },
    },
    { selector: "node[fill != '']", style: { "background-color": "data(fill)" } },
    { selector: "node[ring = 'mark']", style: { "border-width": 2, "border-color": ink.text } },
    {
      selector: "node[ring = 'yes']",
      style: { "border-width": 3, "border-color": ink.accent, "font-weight": 600 },
    },
    {
      selector: "edge",
      style: {
        width: "data(width)",
        "line-color": ink.line,
        opacity: 0.7,
        "curve-style": "haystack",
        "overlay-opacity": 0,
      },
    },
  ] as unknown as StylesheetJson;
