# Where it runs.
provider "aws" {
  region = var.region
}

variable "region" {
  default = "eu-west-1"
}

locals {
  name = "web"
}

# The server.
resource "aws_instance" "web" {
  ami = "ami-1"

  ebs_block_device {
    size = 8
  }
}
