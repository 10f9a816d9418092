// What the service says, as in /api/v1/openapi.json.

/** As in the graph. An integer that a JavaScript number cannot hold comes as a bigint. */
export type Id = string | number | bigint;
export type Label = string | number | bigint;

export type Ability = "rank" | "explain" | "relate" | "suggest" | "map" | "ego";

export interface Example {
  name: string;
  positives: Id[];
  negatives: Id[];
}

export interface Model {
  name: string;
  graph: string;
  fingerprint: string;
  num_nodes: number;
  num_known_labels: number;
  head: string;
  can: Ability[];
  typical_share: number | null;
  example: Example | null;
}

export interface FoundNode {
  id: Id;
  name?: string | null;
  degree: number;
  labels: Label[];
}

export interface FoundLabel {
  label: string;
  num_holders: number;
}

export interface NodeCard {
  id: Id;
  degree: number;
  neighbours: { id: Id; weight: number }[];
  num_neighbours: number;
  labels: Label[];
  is_annotated: boolean;
}

export interface Filter {
  holds: string | null;
  lacks: string | null;
  annotated: boolean | null;
  min_degree: number | null;
  contains: string | null;
}

/** The marks and the prior: what every question about the label starts from. */
export interface Question {
  positives: Id[];
  negatives: Id[];
  prior: number | null;
}

export interface Row {
  node: Id;
  rank: number;
  probability: number;
  low: number | null;
  high: number | null;
  holds: boolean;
  labels: Label[];
}

export interface Ranking {
  rows: Row[];
  num_ranked: number;
  num_all: number;
  num_holding: number;
  prior: number | null;
  threshold: number;
  weak_negatives: Id[];
  seconds: number;
}

export type Reason = "prior" | "any label" | "holds it" | "lacks it" | "stands for the others";

export interface Part {
  reason: Reason;
  node: Id | null;
  contribution: number;
  blocks: Record<string, number>;
}

export interface Weight {
  label: Label;
  weight: number;
}

export interface Explanation {
  node: Id;
  probability: number;
  log_odds: number;
  parts: Part[];
  shared_neighbours: { id: Id; with: Id[] }[];
  labels: Label[];
  label_weights: Weight[];
}

export interface Suggestion {
  id: Id;
  probability: number;
  labels: Label[];
}

export interface Point {
  node: Id;
  before: [number, number];
  after: [number, number];
  probability: number;
  role: "positive" | "negative" | "candidate";
}

export interface Ego {
  nodes: { id: Id; degree: number; role: EgoRole; probability?: number | null }[];
  edges: { source: Id; target: Id; weight: number }[];
  cut: boolean;
}
export type EgoRole = "asked" | "positive" | "negative" | "neighbour";

export interface MarkedGraph {
  name: string;
  fingerprint: string;
}

export interface Project {
  id: string;
  name: string;
  model: string;
  graph: MarkedGraph | null;
  positives: Id[];
  negatives: Id[];
  notes: string;
  threshold: number | null;
  prior: number | null;
  version: number;
  created: string;
  changed: string;
  deleted: boolean;
  can_undo: boolean;
  can_redo: boolean;
}

export interface Version {
  version: number;
  changed: string;
  name: string;
  num_positives: number;
  num_negatives: number;
  what: string;
}

export interface Failure {
  code: string;
  message: string;
  field: string | null;
  request_id: string | null;
}
