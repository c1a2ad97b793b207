#pragma once

/// Views for teaching: data about real runs of the library. Link xgrad::teach.

#include "xgrad/teach/detach.hpp"
#include "xgrad/teach/explain.hpp"
#include "xgrad/teach/graph.hpp"
#include "xgrad/teach/influence.hpp"
#include "xgrad/teach/lab.hpp"
#include "xgrad/teach/observer.hpp"
#include "xgrad/teach/scale.hpp"
#include "xgrad/teach/statistics.hpp"
