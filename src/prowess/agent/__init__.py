"""Role + model -> answers

A role is an agent in one YAML file: its model, its skills, its tools. What it is made of is read and joined without any
framework; `build` makes an agent of Pydantic AI of it, and what speaks to people or programs lies above that.
"""
