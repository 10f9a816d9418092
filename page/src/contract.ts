// What the service says, as in /api/v1/openapi.json; a test compares the two, field by field.

/** As in the graph. An integer that a JavaScript number cannot hold comes as a bigint. */
export type Id = string | number | bigint;

export const MAX_NAME_LENGTH = 200;
export const MAX_NOTES_LENGTH = 100_000;
export const MAX_QUERY_LENGTH = 200;

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
  head: "evidence" | "prototypes";
  can: Ability[];
  typical_share: number | null;
  example: Example | null;
  /** On labels that it had not seen; null where that was not measured. */
  is_better_than_controls: boolean | null;
  verdict: string | null;
}

export interface FoundNode {
  id: Id;
  degree: number | null;
  labels: string[];
}

export interface FoundLabel {
  label: string;
  num_holders: number;
}

export interface Neighbour {
  id: Id;
  weight: number;
}

/** Without a graph nobody knows how many neighbours there are. */
export interface NodeCard {
  id: Id;
  degree: number | null;
  neighbours: Neighbour[];
  num_neighbours: number | null;
  labels: string[];
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
  labels: string[];
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
  label: string;
  weight: number;
}

export interface SharedNeighbour {
  id: Id;
  with: Id[];
}

export interface Explanation {
  node: Id;
  probability: number;
  log_odds: number;
  parts: Part[];
  shared_neighbours: SharedNeighbour[];
  labels: string[];
  label_weights: Weight[];
}

export interface Suggestion {
  id: Id;
  probability: number;
  labels: string[];
}

export interface Point {
  node: Id;
  before: [number, number];
  after: [number, number];
  probability: number;
  role: "positive" | "negative" | "candidate";
}

export interface EgoNode {
  id: Id;
  degree: number;
  role: EgoRole;
  probability: number | null;
}

export interface EgoEdge {
  source: Id;
  target: Id;
  weight: number;
}

export interface Ego {
  nodes: EgoNode[];
  edges: EgoEdge[];
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

/** A project in a list; its examples are counted, and told when it is opened. */
export interface ProjectSummary {
  id: string;
  name: string;
  model: string;
  graph: MarkedGraph | null;
  num_positives: number;
  num_negatives: number;
  version: number;
  created: string;
  changed: string;
  deleted: boolean;
}

export interface Projects {
  projects: ProjectSummary[];
  num_projects: number;
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
  request_id: string;
}
