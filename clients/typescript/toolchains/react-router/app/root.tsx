import { Meta, Outlet, Scripts } from "react-router";

const Root = () => (
  <html lang="en">
    <head>
      <Meta />
    </head>
    <body>
      <Outlet />
      <Scripts />
    </body>
  </html>
);
export default Root;
