import { type ReactNode, useState } from "react";

interface DetailsProps {
  className: string;
  summary: ReactNode;
  isOpen?: boolean;
  children: ReactNode;
}

/** A summary with its details, which exist only while they are shown. */
export const Details = ({ className, summary, isOpen: isOpenAtFirst = false, children }: DetailsProps) => {
  const [isOpen, setIsOpen] = useState(isOpenAtFirst);
  return (
    <details className={className} open={isOpen} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen && children}
    </details>
  );
};
