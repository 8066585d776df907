declare module "readme:*" {}
