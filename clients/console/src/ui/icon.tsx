/** Icons of 24 × 24, drawn with strokes. */
const PATHS = {
  agents: "M12 4v3M7 7h10a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2V9a2 2 0 0 1 2-2zM9.5 12v1M14.5 12v1M2.5 11v4M21.5 11v4",
  chat: "M5 5h14a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2h-7l-5 4v-4H5a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2z",
  conversations: "M4 6h16M4 12h16M4 18h10",
  approvals: "M9 4h6v3H9zM9 5H6v15h12V5h-3M9 13.500l2 2 4-4",
  activity: "M3 12h4l3-8 4 16 3-8h4",
  access: "M15 9a4 4 0 1 0-4 4l-1.5 2H7v2H5v3h3l5.2-7.2A4 4 0 0 0 15 9z",
  health: "M12 20s-8-4.6-8-10.5A4.5 4.5 0 0 1 12 7a4.5 4.5 0 0 1 8 2.500C20 15.400 12 20 12 20z",
  plus: "M12 5v14M5 12h14",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5",
  up: "M12 19V5M6 11l6-6 6 6",
  down: "M12 5v14M6 13l6 6 6-6",
  copy: "M9 9h10v11H9zM15 9V4H5v11h4",
  close: "M6 6l12 12M18 6L6 18",
  refresh: "M20 11a8 8 0 1 0-2.300 6M20 5v6h-6",
  edit: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  send: "M4 12l16-8-6 16-3-7z",
  stop: "M7 7h10v10H7z",
  check: "M5 12l5 5 9-10",
  tool: "M14 6a4 4 0 0 1 5.500-3.700l-2.700 2.700.8 2.400 2.400.8 2-2A4 4 0 0 1 16 10l-8.500 8.500a2.100 2.100 0 0 1-3-3L13 7",
  thumbUp: "M7 11v9H4v-9zM7 12l4-8a2 2 0 0 1 2 2v4h5.500a2 2 0 0 1 2 2.300l-1 6a2 2 0 0 1-2 1.700H7",
  thumbDown: "M7 13V4H4v9zM7 12l4 8a2 2 0 0 0 2-2v-4h5.500a2 2 0 0 0 2-2.300l-1-6a2 2 0 0 0-2-1.700H7",
  user: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 20c1-4 4-5 8-5s7 1 8 5",
  attach:
    "M19 11l-7.500 7.500a4.500 4.500 0 0 1-6.400-6.400L13 4.200a3 3 0 0 1 4.300 4.300L9.500 16.200a1.500 1.500 0 0 1-2.200-2.200L14 7.300",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  pause: "M8 5v14M16 5v14",
  play: "M7 5l12 7-12 7z",
} as const;

export type IconName = keyof typeof PATHS;

export const Icon = ({ name, size = 18 }: { name: IconName; size?: number }) => (
  <svg
    width={size}
    height={size}
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    strokeWidth="1.7"
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden="true"
  >
    <path d={PATHS[name]} />
  </svg>
);

export const Brand = () => <img src="./icon.svg" width="28" height="28" alt="" />;
