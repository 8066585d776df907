import type { ComponentProps } from "react";

type ButtonProps = ComponentProps<"button"> & { kind?: "default" | "primary" | "danger" | "quiet" };

export const Button = ({ kind = "default", className = "", ...props }: ButtonProps) => (
  <button type="button" className={`button ${kind} ${className}`} {...props} />
);

type IconButtonProps = Omit<ButtonProps, "aria-label"> & { label: string };

/** A button with an icon, whose label is for tooltips and screen readers. */
export const IconButton = ({ label, className = "", ...props }: IconButtonProps) => (
  <Button kind="quiet" className={`icon-button ${className}`} aria-label={label} title={label} {...props} />
);
